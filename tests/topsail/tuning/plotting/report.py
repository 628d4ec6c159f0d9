from dash import html

from matrix_benchmarking.topsail import common, report, table_stats


def register():
    SpeedReport()


class SpeedReport:
    def __init__(self):
        self.name = "report: Speed of tuning"
        self.id_name = self.name.lower().replace(" ", "_")
        self.no_graph = True
        self.is_report = True
        table_stats.TableStats._register_stat(self)

    def do_plot(self, *args):
        _, settings, setting_lists, variables, _ = args
        header = [html.P("How fast the tuning is.")]
        header += html.Br()
        for entry in common.Matrix.all_records(settings, setting_lists):
            header += [html.H2(entry.get_name(sorted(variables)))]
        header += report.Plot_and_Text("Speed", report.set_config({"title": "titled"}, args))
        header += report.Plot_and_Text("Sped", args)
        return None, header
