"""Heat maps: values of all starts over one or two terms of the state, as pictures, pages, text and data."""
