// The weights: packed in the page, unpacked here, and read head by head.

const page = JSON.parse(document.getElementById("attention-data").textContent);
const MEAN = -1; // in place of a head, or of a layer: the mean of all of them

const KIND_NAMES = { encoder: "Encoder", decoder: "Decoder", cross: "Cross" };
const LONG = 40; // tokens, of which each gets so little weight that it needs brightening

async function unpack(map) {
  if (map.codes) return;
  const letters = atob(map.data);
  const packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  const buffer = await new Response(stream).arrayBuffer();
  map.codes = map.levels > 255 ? new Uint16Array(buffer) : new Uint8Array(buffer);
  map.values = Float32Array.from({ length: map.levels + 1 }, (_, i) => (i / map.levels) ** map.power);
  // What a row is called: of attention to a text the token that is written by it.
  map.rows = map.kind === "cross" ? map.predicted : map.queries;
  map.size = map.queries.length * map.keys.length;
  map.known = new Map();
  delete map.data;
}

// Weights [queries * keys] of one head, or a mean.
function weightsOf(map, layer, head) {
  const name = `${layer},${head}`;
  if (map.known.has(name)) return map.known.get(name);
  const layers = layer === MEAN ? range(map.layers) : [layer];
  const heads = head === MEAN ? range(map.heads) : [head];
  const sum = new Float32Array(map.size);
  for (const l of layers) {
    for (const h of heads) {
      const start = (l * map.heads + h) * map.size;
      for (let i = 0; i < map.size; i++) sum[i] += map.values[map.codes[start + i]];
    }
  }
  const count = layers.length * heads.length;
  if (count > 1) for (let i = 0; i < map.size; i++) sum[i] /= count;
  if (map.known.size > 40) map.known.clear();
  map.known.set(name, sum);
  return sum;
}

function range(count) {
  return Array.from({ length: count }, (_, i) => i);
}

// What is drawn of a head: its weights, which keys count, and how strong each weight looks (0 to 1).
function picture(map, layer, head, options) {
  const weights = weightsOf(map, layer, head);
  const keys = map.keys.length;
  const shown = map.keys.map((token) => !(options.plain && token[1]));
  let most = 0;
  for (let start = 0; start < weights.length; start += keys) {
    for (let k = 0; k < keys; k++) {
      if (weights[start + k] > most && shown[k]) most = weights[start + k];
    }
  }
  const strength = (weight, key, largest = most) =>
    shown[key] ? share(weight, largest, options) : 0;
  return { weights, keys, queries: map.queries.length, shown, strength, bright: options.bright };
}

function share(weight, largest, options) {
  const part = largest ? Math.min(weight / largest, 1) : 0;
  return options.bright ? Math.sqrt(part) : part;
}

// What a head does on average, in words.
function factsOf(map, layer, head) {
  const weights = weightsOf(map, layer, head);
  const keys = map.keys.length;
  const queries = map.queries.length;
  const mean = { before: 0, itself: 0, after: 0, first: 0, special: 0, entropy: 0 };
  for (let q = 0; q < queries; q++) {
    for (let k = 0; k < keys; k++) {
      const weight = weights[q * keys + k] / queries;
      if (k === q - 1) mean.before += weight;
      if (k === q) mean.itself += weight;
      if (k === q + 1) mean.after += weight;
      if (k === 0) mean.first += weight;
      if (map.keys[k][1]) mean.special += weight;
      if (weight > 0) mean.entropy -= weight * Math.log2(weight * queries);
    }
  }
  const percent = (share) => `${Math.round(100 * share)} %`;
  const shares = [];
  if (map.kind !== "cross") {
    shares.push(`the token before ${percent(mean.before)}`, `itself ${percent(mean.itself)}`);
    if (map.kind === "encoder") shares.push(`the token after ${percent(mean.after)}`);
    shares.push(`the first token ${percent(mean.first)}`);
  }
  shares.push(`special tokens ${percent(mean.special)}`);
  const spread = (2 ** mean.entropy).toFixed(1);
  return `On average it looks at: ${shares.join(", ")}. Spread: ${spread} of ${keys} tokens.`;
}

function inNumbers(weight) {
  return weight === 0 || weight >= 0.005 ? weight.toFixed(2) : weight.toFixed(4);
}
