import pandas as pd
import plotly.express as px

from matrix_benchmarking.topsail import common, table_stats


def register():
    Speed()


def generate_data(entries, variables):
    for entry in entries:
        yield {
            "batch_size": entry.settings.batch_size,
            "speed": entry.results.lts.results.tokens_per_second,
            "name": entry.get_name(v for v in variables if v != "batch_size"),
        }


class Speed:
    def __init__(self):
        self.name = "Speed"
        self.id_name = self.name
        table_stats.TableStats._register_stat(self)
        common.Matrix.settings["stats"].add(self.name)

    def do_plot(self, ordered_vars, settings, setting_lists, variables, cfg):
        if common.Matrix.count_records(settings, setting_lists) == 0:
            return {}, "ERROR: no experiment is selected"
        df = pd.DataFrame(generate_data(common.Matrix.all_records(settings, setting_lists), variables))
        fig = px.line(df, hover_data=df.columns, x="batch_size", y="speed", color="name")
        return fig, f"{len(df)} experiments, {cfg.get('title', 'untitled')}"
