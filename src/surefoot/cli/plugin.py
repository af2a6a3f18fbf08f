"""What commands of other packages may use of the command line: options, progress, the screen, files."""

from surefoot.cli.engine_options import PositiveNumber
from surefoot.cli.figure_outputs import Outputs
from surefoot.cli.output import check_folder, check_output_files, check_positive_seconds, deliver_file
from surefoot.cli.progress import report_progress
from surefoot.cli.terminal import print_line
from surefoot.cli.unused_options import refuse_given_options

__all__ = [
    "Outputs",
    "PositiveNumber",
    "check_folder",
    "check_output_files",
    "check_positive_seconds",
    "deliver_file",
    "print_line",
    "refuse_given_options",
    "report_progress",
]
