"""`python -m rewardmachines` is `hrm`."""

import sys

from rewardmachines.cli import main

sys.exit(main())
