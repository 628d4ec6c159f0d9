"""The plots and reports of training_bench."""

from .durations import EpochDuration, EpochParts
from .limits import WhatLimits
from .loads import DeviceLoad, LoadOverEpoch
from .reports import DataLoading
from .speed_up import SpeedUp

PLOTS = (SpeedUp, EpochDuration, EpochParts, LoadOverEpoch, DeviceLoad, WhatLimits)
REPORTS = (DataLoading,)
