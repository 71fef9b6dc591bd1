/** Calls a function with the files dropped on the element "drop", or chosen with the input "file" in it. */
export function onFile (take) {
  document.getElementById('file').addEventListener('change', ({ target }) => {
    const files = [...target.files]
    target.value = '' // so that choosing the same files again is a change
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
