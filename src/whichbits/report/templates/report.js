for (const place of document.querySelectorAll("[data-chart]")) {
  const specification = JSON.parse(document.getElementById(place.dataset.chart).textContent);
  vegaEmbed(place, specification, { actions: false, renderer: "svg", defaultStyle: false });
}
