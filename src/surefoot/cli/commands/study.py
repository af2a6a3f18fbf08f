"""`surefoot study …`: the commands of the papers' case studies, where these are installed."""

from surefoot.cli.study_problem import load_study_commands

study = load_study_commands()
