/** Starts a worker of a browser, Deno or Bun. */
/* global Worker */

export function start (take, failed) {
  const worker = new Worker(new URL('./polygrad-remote-worker.js', import.meta.url), { type: 'module' })
  worker.onmessage = ({ data }) => take(data)
  const missing = 'the worker cannot be started: is polygrad-remote-worker.js beside polygrad-remote.js?'
  worker.onerror = ({ message }) => failed(new Error(message ?? missing))
  return {
    post: (message) => worker.postMessage(message),
    busy: (is) => is ? worker.ref?.() : worker.unref?.(),
    stop: () => worker.terminate()
  }
}
