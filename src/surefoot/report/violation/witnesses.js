// Runs are shown and hidden by the boxes in the table above their pictures.
for (const section of document.querySelectorAll("section.witnesses"))
  for (const box of section.querySelectorAll("input[data-run]"))
    box.addEventListener("change", () => {
      for (const drawn of section.querySelectorAll(`g.witness-${box.dataset.run}`))
        drawn.classList.toggle("hidden", !box.checked);
    });
