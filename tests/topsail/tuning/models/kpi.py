from matrix_benchmarking.topsail import matbench_models

KPIs = {}  # filled by KPIMetadata


@matbench_models.HigherBetter
@matbench_models.Format("{:.1f}")
@matbench_models.KPIMetadata(help="Tokens that are trained per second", unit="tokens/s")
def tokens_per_second(lts_payload):
    return lts_payload.results.tokens_per_second
