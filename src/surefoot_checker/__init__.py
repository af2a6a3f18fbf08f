"""A stand-alone checker of certificates (docs/certificates.md): standard library only, exact integers.

It shares no code with the rest of the package, so that whoever doubts an answer has little to read. The
folder may be copied and run by itself: `python checker FILE`.
"""
