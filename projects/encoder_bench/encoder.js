// Load on an encoder server: embeddings, classifications or image embeddings, over an OpenAI-compatible route or one of
// Infinity's. An input counts as answered only if the status is 200 and the answer has the right shape.
//
// Environment:
//   BASE_URL, ROUTE           where requests are posted to
//   TASK                      embedding, classification or vision_embedding
//   MODEL, MODALITY           go into the body; MODALITY only where it is set
//   INPUTS                    JSON Lines, {"input": …, "label": …} each; label only where it is known
//   INPUTS_PER_REQUEST        inputs in a request; each request takes the next ones
//   OFFSET                    where in INPUTS to begin, so that a repeat does not ask what the one before asked
//   EXECUTOR                  constant-vus (VUS, DURATION), shared-iterations (VUS, REQUESTS, DURATION) or
//                             constant-arrival-rate (RATE requests per second, DURATION, at most VUS in flight)
//   REQUEST_TIMEOUT           a request that takes longer has failed
//   GRACEFUL_STOP             how long requests that are under way at the end are waited for: longer than the timeout, so
//                             that each request that was sent is in the summary, answered or failed
//   HEADERS                   JSON object of further headers
//   SUMMARY                   file for k6's summary data; none is written without it
import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { SharedArray } from 'k6/data';
import { Counter, Trend } from 'k6/metrics';

const task = __ENV.TASK || 'embedding';
const executor = __ENV.EXECUTOR || 'constant-vus';
const url = `${__ENV.BASE_URL}${__ENV.ROUTE}`;
const inputsPerRequest = Number(__ENV.INPUTS_PER_REQUEST || 1);
const offset = Number(__ENV.OFFSET || 0);
const gracefulStop = __ENV.GRACEFUL_STOP || '65s';
// k6 wants a whole number of requests per time unit: a fractional rate is given per hour.
const wholeRate = Number.isInteger(Number(__ENV.RATE || 0));
const ratePerUnit = wholeRate ? Number(__ENV.RATE || 0) : Math.max(1, Math.round(Number(__ENV.RATE) * 3600));
const timeUnitS = wholeRate ? 1 : 3600;
const headers = Object.assign({ 'Content-Type': 'application/json' }, JSON.parse(__ENV.HEADERS || '{}'));
const parameters = { headers, timeout: __ENV.REQUEST_TIMEOUT || '60s', tags: { name: task } };

const inputs = new SharedArray('inputs', () =>
  open(__ENV.INPUTS).split('\n').filter((line) => line !== '').map((line) => JSON.parse(line)));

const sentInputs = new Counter('sent_inputs');
const answeredInputs = new Counter('answered_inputs');
const rightLabels = new Counter('right_labels');
const scheduleLag = new Trend('schedule_lag', true);

export const options = {
  scenarios: { load: scenario() },
  summaryTrendStats: ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)', 'p(99)', 'count'],
};

function scenario() {
  const vus = Number(__ENV.VUS || 1);
  const duration = __ENV.DURATION || '10s';
  if (executor === 'shared-iterations') {
    return { executor, vus, iterations: Number(__ENV.REQUESTS), maxDuration: duration, gracefulStop };
  }
  if (executor === 'constant-arrival-rate') {
    return {
      executor,
      rate: ratePerUnit,
      timeUnit: `${timeUnitS}s`,
      duration,
      preAllocatedVUs: vus,
      maxVUs: vus,
      gracefulStop,
    };
  }
  return { executor, vus, duration, gracefulStop };
}

export function setup() {
  return { load_start_ms: Date.now() };
}

export default function () {
  if (executor === 'constant-arrival-rate') {
    // Iterations are numbered as they start; one that was dropped has no number. So this is how late a request was
    // sent against an even schedule of those that were sent, and k6's dropped_iterations counts the others.
    const due = exec.scenario.startTime + (exec.scenario.iterationInTest * 1000 * timeUnitS) / ratePerUnit;
    scheduleLag.add(Math.max(0, Date.now() - due));
  }
  const chosen = nextInputs();
  sentInputs.add(chosen.length);
  const body = { model: __ENV.MODEL, input: chosen.map((each) => each.input) };
  if (__ENV.MODALITY) {
    body.modality = __ENV.MODALITY;
  }
  const response = http.post(url, JSON.stringify(body), parameters);
  const answers = response.status === 200 ? read(response) : null;
  const good = check(response, {
    'status is 200': (r) => r.status === 200,
    'the answer has the right shape': () => answers !== null && answers.length === chosen.length && answers.every(isRight),
  });
  if (good) {
    answeredInputs.add(chosen.length);
    countLabels(chosen, answers);
  }
}

export function handleSummary(data) {
  const count = (metric) => (data.metrics[metric] ? data.metrics[metric].values.count : 0);
  const line = `${count('answered_inputs')} of ${count('sent_inputs')} inputs answered right\n`;
  return __ENV.SUMMARY ? { [__ENV.SUMMARY]: JSON.stringify(data), stdout: line } : { stdout: line };
}

function nextInputs() {
  const first = offset + exec.scenario.iterationInTest * inputsPerRequest;
  return Array.from({ length: inputsPerRequest }, (_, i) => inputs[(first + i) % inputs.length]);
}

// The list of answers, one an input; null if the body holds none. Infinity and OpenAI put them in `data`,
// text-embeddings-inference's /predict answers with the list alone.
function read(response) {
  let body;
  try {
    body = JSON.parse(response.body);
  } catch (error) {
    return null;
  }
  const answers = body !== null && typeof body === 'object' && !Array.isArray(body) ? body.data : body;
  return Array.isArray(answers) ? answers : null;
}

function isRight(answer) {
  return task === 'classification' ? bestLabel(answer) !== null : isEmbedding(answer);
}

// The size that most embeddings of this virtual user had so far (Boyer-Moore majority vote): one wrong answer, were it the
// first, doesn't make all others wrong.
let size = null;
let votes = 0;

function hasTheUsualSize(vector) {
  if (size === null) {
    size = vector.length;
  }
  if (vector.length === size) {
    votes += 1;
    return true;
  }
  votes -= 1;
  if (votes <= 0) {
    size = vector.length;
    votes = 1;
  }
  return false;
}

// One vector or several: finite numbers, not all of them zero, and in each vector as many as usual.
function isEmbedding(answer) {
  const embedding = answer === null ? null : answer.embedding;
  if (!Array.isArray(embedding) || embedding.length === 0) {
    return false;
  }
  const vectors = Array.isArray(embedding[0]) ? embedding : [embedding];
  const hasNumbers = (vector) => Array.isArray(vector) && vector.length > 0 && vector.every(Number.isFinite);
  if (!vectors.every((vector) => hasNumbers(vector) && vector.length === vectors[0].length)) {
    return false;
  }
  return vectors.some((vector) => vector.some((value) => value !== 0)) && hasTheUsualSize(vectors[0]);
}

// The label with the highest score, of Infinity's list of {label, score} or vLLM's {label, probs}; null for anything else.
function bestLabel(answer) {
  if (Array.isArray(answer)) {
    const scored = answer.every((each) => each !== null && Number.isFinite(each.score) && each.label !== undefined);
    if (answer.length === 0 || !scored) {
      return null;
    }
    return String(answer.reduce((best, each) => (each.score > best.score ? each : best)).label);
  }
  const fits = answer !== null && typeof answer === 'object' && Array.isArray(answer.probs);
  return fits && answer.label !== undefined && answer.probs.every(Number.isFinite) ? String(answer.label) : null;
}

function countLabels(chosen, answers) {
  if (task !== 'classification') {
    return;
  }
  const right = chosen.filter((each, at) => each.label !== undefined && each.label === bestLabel(answers[at])).length;
  rightLabels.add(right);
}
