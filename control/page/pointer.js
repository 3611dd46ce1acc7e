// Clicks and boxes on the picture, by mouse, pen or finger.

const dragFrom = 7; // CSS pixels: less is a click

// watchPointer calls click with a place and the event, or box with two places; a place has x and y in CSS pixels of the surface, and px
// and py in pixels of the stream's picture, of the size [height, width] that size() tells. began is called when a pointer goes down,
// dragging when a box begins, ended when it is over.
export function watchPointer({ stage, surface, frame, size, began, dragging, ended, click, box }) {
  let drag = null;

  const place = (event) => {
    const r = surface.getBoundingClientRect();
    const x = Math.min(Math.max(event.clientX - r.left, 0), r.width);
    const y = Math.min(Math.max(event.clientY - r.top, 0), r.height);
    const [h, w] = size();
    return { x, y, px: Math.round((x / r.width) * w * 10) / 10, py: Math.round((y / r.height) * h * 10) / 10 };
  };

  const drop = () => {
    if (drag) ended();
    drag = null;
    frame.hidden = true;
  };

  stage.addEventListener('pointerdown', (event) => {
    if (event.button !== 0 || !size()?.[0]) return;
    event.preventDefault();
    surface.setPointerCapture(event.pointerId);
    // A box around what the picture's edge cuts off begins or ends outside the picture; a click does not.
    drag = { from: place(event), id: event.pointerId, box: false, inside: surface.contains(event.target) };
    began();
  });

  surface.addEventListener('pointermove', (event) => {
    if (!drag || drag.id !== event.pointerId) return;
    const at = place(event);
    if (!drag.box && Math.hypot(at.x - drag.from.x, at.y - drag.from.y) > dragFrom) {
      drag.box = true;
      dragging();
    }
    if (!drag.box) return;
    frame.hidden = false;
    Object.assign(frame.style, {
      left: `${Math.min(at.x, drag.from.x)}px`, top: `${Math.min(at.y, drag.from.y)}px`,
      width: `${Math.abs(at.x - drag.from.x)}px`, height: `${Math.abs(at.y - drag.from.y)}px`,
    });
  });

  surface.addEventListener('pointerup', (event) => {
    if (!drag || drag.id !== event.pointerId) return;
    const { from, box: isBox, inside } = drag;
    drop();
    const at = place(event);
    if (!isBox) {
      if (inside) click(at, event);
      return;
    }
    const corners = [Math.min(at.px, from.px), Math.min(at.py, from.py), Math.max(at.px, from.px), Math.max(at.py, from.py)];
    if (corners[2] > corners[0] && corners[3] > corners[1]) box(corners);
  });

  surface.addEventListener('pointercancel', drop);
  surface.addEventListener('contextmenu', (event) => event.preventDefault());
  return drop;
}
