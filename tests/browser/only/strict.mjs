import('/build/js/polygrad.js').then(() => parent.postMessage('it was loaded'), ({ message }) => parent.postMessage(message))
