"""What the engine's events become: counts, a report, and the files and texts that show it.

collector = Collector()
run_suites(backend, options, lambda event: (collector(event), progress(event)))
report = build(backend, options, collector)
write_reports([report], timings({report.contract: collector}), "reports/mine")
print(summary_text(report))
sys.exit(exit_code(report))
"""

from workcert.report.build import build
from workcert.report.collector import Collector
from workcert.report.coverage import Coverage
from workcert.report.failure_text import failure_text, further_text, look_alike_text, of_one_cause
from workcert.report.failures import failure_of
from workcert.report.groups import Group, groups
from workcert.report.json_report import json_text, schema
from workcert.report.junit import junit_text
from workcert.report.markdown import markdown_text
from workcert.report.model import (
    BROKE_OFF,
    ContractReport,
    ContractVerdict,
    FailureReport,
    RequirementResult,
    Status,
    exit_code,
)
from workcert.report.progress import Progress
from workcert.report.summary import summary_text, verdict_line
from workcert.report.timings import Timings, timings
from workcert.report.write import ReportError, of_an_older_run, write_reports

__all__ = [
    "BROKE_OFF",
    "Collector",
    "ContractReport",
    "ContractVerdict",
    "Coverage",
    "FailureReport",
    "Group",
    "Progress",
    "ReportError",
    "RequirementResult",
    "Status",
    "Timings",
    "build",
    "exit_code",
    "failure_of",
    "failure_text",
    "further_text",
    "groups",
    "json_text",
    "junit_text",
    "look_alike_text",
    "markdown_text",
    "of_an_older_run",
    "of_one_cause",
    "schema",
    "summary_text",
    "timings",
    "verdict_line",
    "write_reports",
]
