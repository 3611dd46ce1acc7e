// A stream by WebRTC (WHEP): its pictures in a <video>, its masks on a data channel.
import { Assembler } from './rle.js';

const gatherFor = 500; // ms: the server learns our address by itself
const pictureWithin = 8000; // ms, while the stream has pictures
const lostAfter = 5000; // ms without a sign of life
const sayEvery = 100; // ms, at least, between two words about what was drawn

// Live is one session. It ends once, by stop or with a reason.
export class Live {
  #pc = new RTCPeerConnection();
  #assembler = new Assembler();
  #decoder = new TextDecoder();
  #channel = null;
  #location = '';
  #headers;
  #video;
  #ended = false;
  #said = 0;
  #timer = 0;

  // expected says whether the stream has pictures. onMasks gets every frame of results, onPicture every picture (with what requestVideoFrameCallback tells), onEnd the reason and
  // whether there was a picture.
  constructor({ stream, mode, headers, video, expected, onMasks, onPicture, onEnd }) {
    Object.assign(this, { stream, mode, onMasks, onPicture, onEnd, playing: false });
    this.#headers = headers;
    this.#video = video;
    const late = () => {
      if (expected()) this.end('no picture came; is UDP blocked?');
      else this.#timer = setTimeout(late, pictureWithin);
    };
    this.#timer = setTimeout(late, pictureWithin);
    this.#start().catch((error) => this.end(error.message));
  }

  async #start() {
    const pc = this.#pc;
    pc.addTransceiver('video', { direction: 'recvonly' });
    pc.createDataChannel(''); // so that the offer takes the server's
    pc.ondatachannel = (event) => this.#open(event.channel);
    pc.ontrack = (event) => {
      this.#video.srcObject = new MediaStream([event.track]);
      this.#video.play().catch(() => {}); // muted video may play; where not, no picture comes and the reason is told
      this.#next();
    };
    pc.onconnectionstatechange = () => {
      if (pc.connectionState === 'failed') this.end('the connection failed; is UDP blocked?');
      if (pc.connectionState === 'disconnected') setTimeout(() => pc.connectionState === 'disconnected' && this.end('the connection was lost'), lostAfter);
    };
    await pc.setLocalDescription();
    await new Promise((done) => {
      setTimeout(done, gatherFor);
      pc.onicegatheringstatechange = () => pc.iceGatheringState === 'complete' && done();
    });
    if (this.#ended) return;
    const response = await fetch(`/whep/${encodeURIComponent(this.stream)}?mode=${this.mode}`, {
      method: 'POST', headers: { ...this.#headers, 'Content-Type': 'application/sdp' }, body: pc.localDescription.sdp,
    });
    const answer = await response.text();
    if (response.status !== 201) {
      let message = `the server answered ${response.status}`;
      try {
        message = JSON.parse(answer).error.message;
      } catch { /* the status says it */ }
      throw new Error(message);
    }
    this.#location = response.headers.get('Location');
    if (this.#ended) {
      this.#leave();
      return;
    }
    await pc.setRemoteDescription({ type: 'answer', sdp: answer });
  }

  #open(channel) {
    if (channel.label !== 'masks') return;
    this.#channel = channel;
    channel.binaryType = 'arraybuffer';
    channel.onclose = () => this.end('the server has ended it');
    channel.onmessage = (event) => {
      const whole = this.#assembler.add(event.data);
      if (whole) this.onMasks(JSON.parse(this.#decoder.decode(whole)));
    };
  }

  #next() {
    if (this.#ended) return;
    this.#video.requestVideoFrameCallback((now, meta) => {
      if (this.#ended) return;
      this.#next();
      if (this.#video.readyState < 2) return; // the first call can come before there is anything to draw
      this.playing = true;
      clearTimeout(this.#timer);
      this.#say(meta.rtpTimestamp);
      this.onPicture(meta);
    });
  }

  // #say tells the server which picture was seen: it leaves masks out for a page that hangs.
  #say(rtp) {
    const now = performance.now();
    if (rtp === undefined || now - this.#said < sayEvery || this.#channel?.readyState !== 'open') return;
    this.#said = now;
    this.#channel.send(JSON.stringify({ drawn: rtp }));
  }

  #leave() {
    if (this.#location) fetch(this.#location, { method: 'DELETE', headers: this.#headers, keepalive: true }).catch(() => {});
  }

  end(reason) {
    if (this.#ended) return;
    this.stop();
    this.onEnd(reason, this.playing);
  }

  stop() {
    if (this.#ended) return;
    this.#ended = true;
    clearTimeout(this.#timer);
    this.#leave();
    this.#pc.close();
    this.#video.srcObject = null;
  }
}
