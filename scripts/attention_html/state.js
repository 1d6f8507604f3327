// What is looked at. Every change goes through `state.set`, which redraws what depends on it and
// keeps the address of the page in step, so that a view can be linked to.

const QUERY = 0;
const KEY = 1;

const state = {
  part: 0,
  block: 0,
  head: 0,
  view: 'map',
  scale: 'fixed',
  ramp: 'viridis',
  theme: 'auto',
  pinned: null,   // {side, index, other}: the token that was chosen, `other` the cell's second one
  pointed: null,  // the same, while the mouse is over it
  listeners: [],

  // The token that is shown: the one pointed at, else the one chosen, else the last query.
  active() {
    return this.pointed ?? this.pinned ?? {side: QUERY, index: this.current().queries - 1, other: null};
  },

  dark() {
    return this.theme === 'dark' ||
        (this.theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  },

  current() {
    return parts[this.part];
  },

  map() {
    return this.current().head(this.block, this.head);
  },

  set(changes, speak = false) {
    const before = {...this};
    Object.assign(this, changes);
    const part = this.current();
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    this.block = within(this.block, part.blocks.length);
    this.head = within(this.head, part.heads.length);
    if (this.part !== before.part) this.pointed = null;
    if (this.pinned) this.pinned.index = within(this.pinned.index, part.count(this.pinned.side));
    const changed = new Set(Object.keys(before).filter((name) => before[name] !== this[name]));
    if (changed.size === 0 && !changes.all) return;
    for (const listener of this.listeners) listener(changed, Boolean(changes.all), speak);
    if (!changed.has('pointed') || changed.size > 1) this.toAddress();
  },

  toAddress() {
    const fields = new URLSearchParams({
      part: this.part, block: this.current().blocks[this.block], head: this.current().heads[this.head],
    });
    if (this.pinned) fields.set(this.pinned.side === QUERY ? 'query' : 'key', this.pinned.index);
    for (const [name, usual] of [['view', 'map'], ['scale', 'fixed'], ['ramp', 'viridis'], ['theme', 'auto']]) {
      if (this[name] !== usual) fields.set(name, this[name]);
    }
    history.replaceState(null, '', '#' + fields);
  },

  fromAddress() {
    const fields = new URLSearchParams(location.hash.slice(1));
    const count = (name) => /^\d{1,9}$/.test(fields.get(name) ?? '') ? Number(fields.get(name)) : null;
    const changes = {all: true, pinned: null};
    const part = count('part');
    if (part !== null && part < parts.length) changes.part = part;
    const shown = parts[changes.part ?? this.part];
    for (const name of ['block', 'head']) {
      const place = shown[name + 's'].indexOf(count(name));
      if (place >= 0) changes[name] = place;
    }
    if (count('query') !== null) changes.pinned = {side: QUERY, index: count('query'), other: null};
    if (count('key') !== null) changes.pinned = {side: KEY, index: count('key'), other: null};
    const choices = {view: ['map', 'lines'], scale: Object.keys(SCALES), ramp: Object.keys(RAMPS),
      theme: ['auto', 'light', 'dark']};
    for (const [name, allowed] of Object.entries(choices)) {
      if (allowed.includes(fields.get(name))) changes[name] = fields.get(name);
    }
    return changes;
  },
};
