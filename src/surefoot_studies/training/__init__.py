"""Optional training of the studies' policies: simulators (numpy), PPO (torch), ONNX files and recipes.

`python -m surefoot_studies.training STUDY --seed N` trains; nothing else in surefoot knows torch.
"""
