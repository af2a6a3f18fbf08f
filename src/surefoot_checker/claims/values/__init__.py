"""Claims about probabilities and expected rewards of finite decision processes."""
