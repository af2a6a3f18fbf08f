"""Reads ONNX files into networks."""

from surefoot.formats.onnx.reader import read_onnx_bytes, read_onnx_network

__all__ = ["read_onnx_bytes", "read_onnx_network"]
