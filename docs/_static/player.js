// Films: pictures of one fit, shown one after the other.
document.addEventListener("DOMContentLoaded", () => {
  document.querySelectorAll(".film").forEach((film) => {
    const frames = [...film.querySelectorAll("img")];
    const controls = film.querySelector(".film-controls");
    if (!frames.length || !controls) return;
    const passes = controls.dataset.passes.split(" ");
    const button = document.createElement("button");
    const slider = document.createElement("input");
    const label = document.createElement("span");
    Object.assign(slider, { type: "range", min: 0, max: frames.length - 1, value: 0 });
    slider.setAttribute("aria-label", controls.dataset.slider);
    button.type = "button";
    button.setAttribute("aria-label", controls.dataset.play);
    controls.append(button, slider, label);
    let timer = null;
    const show = (k) => {
      frames.forEach((frame, j) => frame.classList.toggle("film-shown", j === k));
      slider.value = k;
      label.textContent = controls.dataset.pass.replace("#", passes[k]);
      slider.setAttribute("aria-valuetext", label.textContent);
    };
    const stop = () => {
      clearInterval(timer);
      timer = null;
      button.textContent = `▶ ${controls.dataset.play}`;
      button.setAttribute("aria-pressed", "false");
    };
    button.addEventListener("click", () => {
      if (timer) return stop();
      if (+slider.value === frames.length - 1) show(0);
      button.textContent = "❚❚";
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        show(+slider.value + 1);
        if (+slider.value === frames.length - 1) stop();
      }, 600);
    });
    slider.addEventListener("input", () => { stop(); show(+slider.value); });
    film.classList.add("film-ready");
    stop();
    show(0);
  });
});
