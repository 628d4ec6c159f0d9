from matrix_benchmarking.topsail import matbench_models

from . import kpi


class Settings(matbench_models.ExclusiveModel):
    kpi_settings_version: str
    model: str
    batch_size: int
    version: matbench_models.SemVer


class Metadata(matbench_models.Metadata):
    lts_schema_version: str
    settings: Settings


class Results(matbench_models.ExclusiveModel):
    tokens_per_second: float


class KPI(matbench_models.KPI, Settings):
    pass


KPIs = matbench_models.getKPIsModel("KPIs", __name__, kpi.KPIs, KPI)


class Payload(matbench_models.ExclusiveModel):
    metadata: Metadata
    results: Results
    kpis: KPIs
