// What the page holds: maps of weights, decoded once, and the names of what stands along them.

const MASKED = -1;
const given = JSON.parse(document.getElementById('data').textContent);

function element(name, properties = {}, ...children) {
  const made = Object.assign(document.createElement(name), properties);
  made.append(...children);
  return made;
}

function byId(name) {
  return document.getElementById(name);
}

// A token as it can be seen: what moves, hides or turns text around is written out.
function visible(text) {
  if (text === '') return '∅';
  const names = {'\n': '⏎', '\t': '⇥', '\r': '␍', ' ': '␣'};
  return text.replace(/[\u0000-\u0020\u007f-\u00a0\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff]/gu,
      (mark) => names[mark] ?? '\\u' + mark.codePointAt(0).toString(16).padStart(4, '0'));
}

class Part {
  constructor(described) {
    this.name = described.name;
    this.outer = described.outer;
    this.blocks = described.blocks;
    this.heads = described.heads;
    this.oneText = described.oneText;
    this.at = described.at;
    this.tokens = described.tokens.map(
        (texts, side) => texts ? texts.map(visible) : described.at[side].map(() => null));
    this.queries = this.at[0].length;
    this.keys = this.at[1].length;
    const bytes = Uint8Array.from(atob(described.weights), (mark) => mark.charCodeAt(0));
    this.codes = bytes;
    if (described.bits === 16) {
      this.codes = new Uint16Array(bytes.length / 2);
      for (let i = 0; i < this.codes.length; ++i) this.codes[i] = bytes[2 * i] | bytes[2 * i + 1] << 8;
    }
    // The root of the weight times `top`; then one code for not finite and one for masked.
    const top = 2 ** described.bits - 3;
    this.values = Float32Array.from({length: top + 3}, (unused, code) => (code / top) ** 2);
    this.values[top + 1] = NaN;
    this.values[top + 2] = MASKED;
  }

  // The maps of one head: (query, key) to a weight, MASKED or NaN.
  head(block, head) {
    const from = (block * this.heads.length + head) * this.queries * this.keys;
    return {
      queries: this.queries,
      keys: this.keys,
      at: (query, key) => this.values[this.codes[from + query * this.keys + key]],
    };
  }

  count(side) {
    return side === 0 ? this.queries : this.keys;
  }

  labelled(side) {
    return this.tokens[side].some((token) => token !== null);
  }

  // "4 “7”" for a position that has a token, else "4".
  label(side, index) {
    const token = this.tokens[side][index];
    return this.at[side][index] + (token === null ? '' : ' “' + token + '”');
  }

  // What is written where there is little room.
  short(side, index) {
    return this.tokens[side][index] ?? this.at[side][index];
  }

  title(block, head) {
    return `${this.outer} ${this.blocks[block]} head ${this.heads[head]}`;
  }
}

const parts = given.parts.map((described) => new Part(described));

function percent(weight) {
  if (weight === MASKED) return 'masked';
  if (Number.isNaN(weight)) return 'not finite';
  const hundredths = 100 * weight;
  if (hundredths > 0 && hundredths < 0.1) return '<0.1 %';
  return (hundredths >= 99.95 ? '100' : hundredths.toFixed(1)) + ' %';
}

// What kind of head it is: where it looks on average, and an entropy in bits. Pooled cells have
// lost what this takes.
function summary(part, block, head) {
  if (given.pool > 1) return `each cell is the largest of ${given.pool} x ${given.pool}`;
  const map = part.head(block, head);
  const sums = {self: 0, before: 0, first: 0, entropy: 0, rows: 0};
  for (let q = 0; q < map.queries; ++q) {
    let any = false;
    for (let k = 0; k < map.keys; ++k) {
      const weight = map.at(q, k);
      if (!(weight > 0)) continue;
      any = true;
      if (k === q) sums.self += weight;
      if (k === q - 1) sums.before += weight;
      if (k === 0) sums.first += weight;
      sums.entropy -= weight * Math.log2(weight);
    }
    if (any) ++sums.rows;
  }
  const mean = (sum) => sums.rows > 0 ? sum / sums.rows : 0;
  const spread = `entropy ${mean(sums.entropy).toFixed(2)} bits`;
  if (!part.oneText) return `on the first key ${percent(mean(sums.first))}, ${spread}`;
  return `on itself ${percent(mean(sums.self))}, on the one before ${percent(mean(sums.before))}, ` +
      `on the first ${percent(mean(sums.first))}, ${spread}`;
}
