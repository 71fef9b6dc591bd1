'use strict'
/** The file functions of WASI (preview 1) in a page, which has no files: no name is found. */

const [NO_NUMBER, NOTHING] = [8, 44] // numbers of errors: of a file, and of a name
const ROOT = 3

/** The file functions for a module's memory. */
function fileImports (memory) {
  const view = () => new DataView(memory.buffer)
  const nothing = () => NOTHING
  return {
    fd_prestat_get (fd, at) {
      if (fd !== ROOT) return NO_NUMBER
      view().setUint32(at, 0, true)
      view().setUint32(at + 4, 1, true) // the length of "/"
      return 0
    },
    fd_prestat_dir_name (_, at) {
      view().setUint8(at, '/'.charCodeAt(0))
      return 0
    },
    path_open: nothing,
    path_filestat_get: nothing,
    path_create_directory: nothing,
    path_remove_directory: nothing,
    path_unlink_file: nothing,
    path_rename: nothing,
    path_readlink: nothing
  }
}

module.exports = { fileImports }
