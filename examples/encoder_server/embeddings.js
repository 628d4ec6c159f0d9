// Closed-model load on an OpenAI-compatible embeddings endpoint: VUS virtual users ask for DURATION, one request after
// the other, each request with other texts. An input counts as answered only if status and shape are right.
//
// Environment: BASE_URL, VUS, DURATION, INPUTS_PER_REQUEST, MODEL, EMBEDDING_SIZE, TEXTS (one text a line) and SUMMARY
// (file for k6's summary data; none is written without it).
import { check } from 'k6';
import exec from 'k6/execution';
import http from 'k6/http';
import { SharedArray } from 'k6/data';
import { Counter } from 'k6/metrics';

const baseUrl = __ENV.BASE_URL || 'http://127.0.0.1:8000';
const model = __ENV.MODEL || 'all-MiniLM-L6-v2';
const inputsPerRequest = Number(__ENV.INPUTS_PER_REQUEST || 1);
const embeddingSize = Number(__ENV.EMBEDDING_SIZE || 384);

const texts = new SharedArray('texts', () =>
  open(__ENV.TEXTS || './texts.txt').split('\n').filter((line) => line.trim() !== ''));

const sentInputs = new Counter('sent_inputs');
const answeredInputs = new Counter('answered_inputs');

export const options = {
  scenarios: {
    closed: {
      executor: 'constant-vus',
      vus: Number(__ENV.VUS || 1),
      duration: __ENV.DURATION || '8s',
      gracefulStop: '10s',
    },
  },
  summaryTrendStats: ['avg', 'min', 'med', 'max', 'p(90)', 'p(95)', 'p(99)', 'count'],
};

export function setup() {
  return { load_start_ms: Date.now() };
}

export default function () {
  const inputs = nextInputs();
  sentInputs.add(inputs.length);
  const response = http.post(`${baseUrl}/v1/embeddings`, JSON.stringify({ model, input: inputs }), {
    headers: { 'Content-Type': 'application/json' },
    tags: { name: 'embeddings' },
  });
  const good = check(response, {
    'status is 200': (r) => r.status === 200,
    'one embedding per input': (r) => r.status === 200 && hasEmbeddings(r, inputs.length),
  });
  if (good) {
    answeredInputs.add(inputs.length);
  }
}

export function handleSummary(data) {
  const count = (metric) => (data.metrics[metric] ? data.metrics[metric].values.count : 0);
  const line = `${count('answered_inputs')} of ${count('sent_inputs')} inputs answered right\n`;
  return __ENV.SUMMARY ? { [__ENV.SUMMARY]: JSON.stringify(data), stdout: line } : { stdout: line };
}

function nextInputs() {
  const first = exec.scenario.iterationInTest * inputsPerRequest;
  return Array.from({ length: inputsPerRequest }, (_, i) => texts[(first + i) % texts.length]);
}

function hasEmbeddings(response, expected) {
  let body;
  try {
    body = response.json();
  } catch (error) {
    return false;
  }
  return body !== null && Array.isArray(body.data) && body.data.length === expected && body.data.every(isEmbedding);
}

function isEmbedding(item) {
  return Array.isArray(item.embedding) && item.embedding.length === embeddingSize
    && item.embedding.every((value) => Number.isFinite(value));
}
