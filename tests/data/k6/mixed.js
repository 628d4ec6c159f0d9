// Load with failures on purpose, for parser tests: one request in ten has a malformed body (answered with 422), one a
// wrong path (404). Custom counters count by status what happened, independently of k6's own metrics.
//
// Environment: RUN (one of the names below), BASE_URL, DIRECTORY (where summary.json goes).
import { check, group } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter, Gauge, Rate, Trend } from 'k6/metrics';

const runs = {
  mixed: { bad: true, scenario: { executor: 'constant-vus', vus: 4, duration: '3s' } },
  clean: { scenario: { executor: 'constant-vus', vus: 2, duration: '2s' } },
  threshold_crossed: {
    bad: true,
    scenario: { executor: 'constant-vus', vus: 4, duration: '2s' },
    thresholds: {
      http_req_failed: ['rate<0.05'],
      http_req_duration: ['p(95)<60000', 'avg<60000'],
      'http_req_duration{kind:good}': ['med<0.001', 'max<60000'],
      checks: ['rate>0.5'],
    },
  },
  nothing_listens: { scenario: { executor: 'constant-vus', vus: 2, duration: '1s' } },
  cut_by_max_duration: {
    scenario: { executor: 'shared-iterations', vus: 4, iterations: 50000, maxDuration: '2s', gracefulStop: '1s' },
  },
  arrival_rate: {
    scenario: {
      executor: 'constant-arrival-rate', rate: 40, timeUnit: '1s', duration: '3s', preAllocatedVUs: 5, maxVUs: 10,
    },
  },
  arrival_rate_overloaded: {
    scenario: {
      executor: 'constant-arrival-rate', rate: 2000, timeUnit: '1s', duration: '2s', preAllocatedVUs: 4, maxVUs: 4,
    },
  },
  aborted: { abortAt: 50, scenario: { executor: 'constant-vus', vus: 2, duration: '20s' } },
};
const run = runs[__ENV.RUN];

const sent = new Counter('sent_requests');
const counters = {
  200: new Counter('status_200'),
  404: new Counter('status_404'),
  422: new Counter('status_422'),
  0: new Counter('not_answered'),
};
const otherStatus = new Counter('status_other');
const goodAnswers = new Counter('good_answers');
const rightShape = new Rate('right_shape');
const answerBytes = new Trend('answer_bytes');
const lastIteration = new Gauge('last_iteration');

export const options = {
  scenarios: { load: run.scenario },
  thresholds: run.thresholds || {},
  summaryTrendStats: ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)', 'p(99)', 'count'],
};

export default function () {
  const iteration = exec.scenario.iterationInTest;
  lastIteration.add(iteration);
  if (run.abortAt && iteration === run.abortAt) {
    exec.test.abort('stopped on purpose');
  }
  group('embeddings', () => ask(iteration));
}

export function handleSummary(data) {
  return { [`${__ENV.DIRECTORY}/summary.json`]: JSON.stringify(data) };
}

function ask(iteration) {
  const kind = run.bad ? { 3: 'malformed', 7: 'wrong_path' }[iteration % 10] || 'good' : 'good';
  const path = kind === 'wrong_path' ? '/v1/nothing' : '/v1/embeddings';
  const body = kind === 'malformed' ? '{"input": ' : JSON.stringify({ input: `Text number ${iteration} of this run.` });
  sent.add(1);
  const response = http.post(`${__ENV.BASE_URL}${path}`, body, {
    headers: { 'Content-Type': 'application/json' },
    tags: { kind, name: path },
  });
  (counters[response.status] || otherStatus).add(1);
  answerBytes.add(response.body ? response.body.length : 0);
  const right = check(response, {
    'status is 200': (r) => r.status === 200,
    'has 384 numbers': (r) => r.status === 200 && r.json('data.0.embedding').length === 384,
  });
  rightShape.add(right);
  if (right) {
    goodAnswers.add(1);
  }
}
