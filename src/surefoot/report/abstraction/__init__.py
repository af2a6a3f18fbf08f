"""The abstract state graph as a page to look at: layers from the starts, colours, details and splits."""
