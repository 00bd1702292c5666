// A window of a log: at most MOST lines are in the page, the rest is asked for by its byte offset when scrolled to.
const MOST = 1200, NEAR = 300;

function drawn([at, spans], mark) {
  const line = document.createElement("div");
  line.dataset.at = at;
  if (mark) line.className = "jig-log-mark";
  for (const [style, text] of spans) {
    const part = document.createElement("span");
    part.textContent = text;
    for (const one of style.split(" ")) {
      if (one.startsWith("#")) part.style.color = one;
      else if (one) part.classList.add("jig-ansi-" + one);
    }
    line.append(part);
  }
  return line;
}

export default {
  template: `<div class="jig-log" role="log" aria-live="off" tabindex="0" :aria-label="label" @scroll.passive="scrolled"
    @wheel.passive="still = false" @keydown="still = false" @pointerdown="still = false"></div>`,
  props: { source: String, label: String },
  data: () => ({ still: false }),
  mounted() {
    [this.start, this.end, this.size, this.following, this.busy, this.grew] = [0, 0, 0, true, false, false];
    this.tail();
  },
  watch: {
    source() { // another log: from its end
      this.follow(true);
    },
  },
  methods: {
    async ask(query) {
      this.busy = true;
      try {
        const answer = await fetch(`${this.source}?${query}`);
        return answer.ok ? await answer.json() : null;
      } catch { // the server is away for a while
        return null;
      } finally {
        this.busy = false;
      }
    },
    put(found, mark) {
      const lines = found.lines.map((line, at) =>
        drawn(line, mark !== undefined && line[0] <= mark && mark < (found.lines[at + 1]?.[0] ?? found.end)));
      this.$el.replaceChildren(...lines);
      [this.start, this.end, this.size] = [found.start, found.end, found.size];
    },
    async tail() {
      if (this.busy) return void (this.grew = true);
      const found = await this.ask("before=-1");
      if (found && this.following) {
        this.put(found);
        this.$el.scrollTop = this.$el.scrollHeight;
      }
      if (this.grew) {
        this.grew = false;
        this.tail();
      }
    },
    grow() {
      if (this.following) this.tail();
      else this.size = Infinity; // the next scroll to the end asks
    },
    follow(on) {
      this.following = on;
      this.$emit("follow", on);
      if (on) this.tail();
    },
    async show(offset) {
      this.follow(false);
      const found = await this.ask(`around=${offset}`);
      if (!found) return;
      this.still = true; // until the person scrolls: the end of a short log is in sight already
      this.put(found, offset);
      const mark = this.$el.querySelector(".jig-log-mark");
      if (mark) this.$el.scrollTop = mark.offsetTop - this.$el.clientHeight / 2;
    },
    async scrolled() {
      const box = this.$el, below = box.scrollHeight - box.clientHeight - box.scrollTop;
      if (this.following && below > 40) this.follow(false);
      if (this.busy) return;
      if (!this.following && !this.still && below < 4 && this.end >= this.size && this.size) return this.follow(true);
      if (box.scrollTop < NEAR && this.start > 0) await this.earlier();
      else if (!this.following && below < NEAR && this.end < this.size) await this.later();
    },
    async earlier() {
      const box = this.$el, found = await this.ask(`before=${this.start}`);
      if (!found || !found.lines.length) return;
      const height = box.scrollHeight, top = box.scrollTop;
      box.prepend(...found.lines.map((line) => drawn(line)));
      box.scrollTop = top + box.scrollHeight - height;
      [this.start, this.size] = [found.start, found.size];
      while (box.childElementCount > MOST) {
        this.end = +box.lastElementChild.dataset.at;
        box.lastElementChild.remove();
      }
    },
    async later() {
      const box = this.$el, found = await this.ask(`after=${this.end}`);
      if (!found) return;
      while (box.lastElementChild && +box.lastElementChild.dataset.at >= found.start) box.lastElementChild.remove();
      box.append(...found.lines.map((line) => drawn(line)));
      [this.end, this.size] = [found.end, found.size];
      while (box.childElementCount > MOST) {
        const height = box.firstElementChild.offsetHeight;
        box.firstElementChild.remove();
        box.scrollTop -= height;
        this.start = +box.firstElementChild.dataset.at;
      }
    },
  },
};
