from . import report, speed


def register():
    speed.register()
    report.register()
