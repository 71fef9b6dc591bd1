/** Gives the files that a reader drops on the element "drop", or chooses with the input "file" in it, to a function. */
export function onFile (take) {
  document.getElementById('file').addEventListener('change', ({ target }) => {
    const files = [...target.files]
    target.value = '' // the same ones may be chosen again
    if (files.length > 0) take(files)
  })
  const drop = document.getElementById('drop')
  for (const kind of ['dragenter', 'dragover', 'dragleave', 'drop']) {
    drop.addEventListener(kind, (event) => {
      event.preventDefault()
      drop.classList.toggle('over', kind === 'dragenter' || kind === 'dragover')
      if (kind === 'drop' && event.dataTransfer.files.length > 0) take([...event.dataTransfer.files])
    })
  }
}
