/** Tells the driver what happened, as one line of the console. */
export function tell (event) {
  console.debug(`#${JSON.stringify(event)}`)
}

/** What was thrown, with the places; Firefox does not put the message before them. */
export function textOf (thrown) {
  if (!(thrown instanceof Error)) return String(thrown)
  const message = `${thrown.name}: ${thrown.message}`
  return thrown.stack?.includes(thrown.message) ? thrown.stack : `${message}\n${thrown.stack ?? ''}`
}
