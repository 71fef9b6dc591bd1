/** Sends an event to the driver as a line of JSON on the console. */
export function tell (event) {
  console.debug(`#${JSON.stringify(event)}`)
}

/** An error with its stack; Firefox's stacks lack the message, which is put first. */
export function textOf (thrown) {
  if (!(thrown instanceof Error)) return String(thrown)
  const message = `${thrown.name}: ${thrown.message}`
  return thrown.stack?.includes(thrown.message) ? thrown.stack : `${message}\n${thrown.stack ?? ''}`
}
