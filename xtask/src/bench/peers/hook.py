"""A hook as people write it in Python: reads the event, looks for a pattern in the command."""

import json
import re
import sys

event = json.load(sys.stdin)
if re.search(r"rm\s+-rf\s+/", event["tool_input"]["command"]):
    print("not the whole disk", file=sys.stderr)
    sys.exit(2)
