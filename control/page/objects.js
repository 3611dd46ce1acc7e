// The list of objects: one row each, kept so that a click never meets a row that is being replaced.

export class ObjectList {
  #list;
  #rows = new Map(); // by object id

  constructor(list, { choose, remove }) {
    this.#list = list;
    Object.assign(this, { choose, remove });
  }

  // show brings the list up to date with objects of {id, state, color}.
  show(objects, selected) {
    const present = new Set(objects.map((o) => o.id));
    for (const [id, parts] of this.#rows) {
      if (present.has(id)) continue;
      parts.row.remove();
      this.#rows.delete(id);
    }
    for (const object of objects) {
      if (!this.#rows.has(object.id)) {
        this.#rows.set(object.id, this.#make(object.id));
        this.#list.append(this.#rows.get(object.id).row);
      }
      const { row, pick, swatch, state } = this.#rows.get(object.id);
      row.className = `${object.state}${object.id === selected ? ' selected' : ''}`;
      pick.setAttribute('aria-pressed', String(object.id === selected));
      swatch.style.backgroundColor = object.color;
      state.textContent = object.state;
    }
  }

  #make(id) {
    const make = (tag, className, text = '') => Object.assign(document.createElement(tag), { className, textContent: text });
    const row = make('li', '');
    const pick = make('button', 'choose');
    const swatch = make('i', 'swatch');
    const state = make('small', '');
    pick.type = 'button';
    pick.append(swatch, make('span', '', `Object ${id}`), state);
    pick.addEventListener('click', () => this.choose(id));
    const remove = make('button', 'remove', '×');
    remove.type = 'button';
    remove.title = `Remove object ${id}`;
    remove.setAttribute('aria-label', remove.title);
    remove.addEventListener('click', () => this.remove(id));
    row.append(pick, remove);
    return { row, pick, swatch, state };
  }
}
