"""Machine code: functions written as LLVM IR, compiled and cached."""
