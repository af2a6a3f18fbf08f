"""Reads ONNX files into networks."""

from surefoot.formats.onnx.graph import read_onnx, read_onnx_bytes

__all__ = ["read_onnx", "read_onnx_bytes"]
