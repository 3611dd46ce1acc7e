// How the picture comes: by WebRTC, drawn with its masks, or as MJPEG with the masks drawn in, where WebRTC cannot be had.
import { authorization, session } from './api.js';
import { Live } from './live.js';
import { Painter } from './painter.js';

const again = 1500; // ms until the next attempt
const upgradeEvery = 30000; // ms between attempts to leave MJPEG
const patience = 2; // sessions in a row that may fail without a picture, where there were some before

export class Show {
  #canvas;
  #video;
  #mjpeg;
  #live = null;
  #timer = 0;
  #failed = 0;
  #played = false;

  // onShown and onLost tell whether there is a picture, onHow in which way: {way: 'webrtc' | 'mjpeg', why}.
  constructor({ canvas, video, mjpeg, onShown, onLost, onHow }) {
    this.#canvas = canvas;
    this.#video = video;
    this.#mjpeg = mjpeg;
    Object.assign(this, { stream: '', mode: 'locked', webrtc: false, expected: () => true, onShown, onLost, onHow, painter: new Painter(canvas) });
    this.latency = 0;
    mjpeg.addEventListener('load', () => onShown());
    mjpeg.addEventListener('error', () => this.#lost(again));
    this.painter.onDrawn = (message) => {
      if (message) this.latency = Date.now() + session.ahead - Date.parse(message.received);
      this.onDrawn?.(message);
    };
    addEventListener('pagehide', () => this.stop());
    addEventListener('pageshow', (event) => event.persisted && this.start());
  }

  // start shows the stream, anew where it is shown already.
  start() {
    this.stop();
    if (!this.stream) return;
    this.#failed = 0;
    this.#played = false;
    this.#begin();
  }

  stop() {
    clearTimeout(this.#timer);
    this.#live?.stop();
    this.#live = null;
    this.#mjpeg.hidden = true;
    this.#mjpeg.removeAttribute('src');
  }

  // natural is the picture's own size, [height, width].
  natural() {
    return this.#mjpeg.hidden ? [this.#video.videoHeight, this.#video.videoWidth] : [this.#mjpeg.naturalHeight, this.#mjpeg.naturalWidth];
  }

  #begin() {
    if (this.webrtc && window.RTCPeerConnection && HTMLVideoElement.prototype.requestVideoFrameCallback) this.#connect();
    else this.#fall(this.webrtc ? 'this browser has no WebRTC for it' : 'this service has none');
  }

  #connect() {
    this.painter.exact = this.mode === 'locked';
    this.painter.forget();
    let first = true;
    const live = this.#live = new Live({
      stream: this.stream, mode: this.mode, headers: authorization(), video: this.#video, expected: () => this.expected(),
      onMasks: (message) => this.painter.masks(message),
      onPicture: (meta) => {
        if (first) {
          first = false;
          this.#failed = 0;
          this.#played = true;
          this.#picture();
        }
        this.painter.picture(this.#video, meta);
      },
      onEnd: (why, played) => {
        if (this.#live !== live) return;
        this.#live = null;
        if (!played) this.#failed++;
        if (!this.#mjpeg.hidden) this.#timer = setTimeout(() => this.#connect(), upgradeEvery);
        else if (this.#failed >= (this.#played ? patience : 1)) this.#fall(why);
        else this.#lost(again);
      },
    });
  }

  // #picture takes the stage from MJPEG.
  #picture() {
    this.#mjpeg.hidden = true;
    this.#mjpeg.removeAttribute('src');
    this.#canvas.hidden = false;
    this.onHow({ way: 'webrtc', why: '' });
    this.onShown();
  }

  // #fall shows MJPEG, and tries in the background to get away from it.
  #fall(why) {
    this.#canvas.hidden = true;
    this.#mjpeg.hidden = false;
    const token = session.token ? `&token=${encodeURIComponent(session.token)}` : '';
    this.#mjpeg.src = `/preview/${encodeURIComponent(this.stream)}.mjpeg?t=${Date.now()}${token}`;
    this.painter.drawn = null;
    this.latency = 0;
    this.onHow({ way: 'mjpeg', why });
    if (this.webrtc && window.RTCPeerConnection) this.#timer = setTimeout(() => this.#connect(), upgradeEvery);
  }

  #lost(after) {
    this.onLost();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => (this.#failed >= patience || !this.webrtc ? this.#fall('it was lost') : this.#begin()), after);
  }
}
