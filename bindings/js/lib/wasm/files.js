'use strict'
/** The file functions of WASI (preview 1), on the computer's files. */

const { fs, path } = require('../host/node.js')

const ERRORS = {
  EACCES: 2, EBADF: 8, EEXIST: 20, EINVAL: 28, EIO: 29, EISDIR: 31, ELOOP: 32, EMFILE: 33, ENAMETOOLONG: 37, ENOENT: 44, ENOSPC: 51,
  ENOTDIR: 54, ENOTEMPTY: 55, EPERM: 63, EROFS: 69, EXDEV: 75
}
const ROOT = 3 // the only preopened folder, "/"
const FOLLOW = 1 // a lookup flag: follow symbolic links
const { O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC, O_APPEND, O_RDONLY, O_WRONLY, O_RDWR } = fs.constants
const [READ, WRITE] = [2n, 64n] // rights
const DIRECTORY_ENTRY = 24 // bytes of an entry before its name
const MOST = 2 ** 30 // bytes of one read or write

/** The file functions for a module's memory. */
function fileImports (memory) {
  const files = new Map([[ROOT, { path: '/', at: 0 }]]) // by number
  const view = () => new DataView(memory.buffer)
  const bytes = (at, n) => new Uint8Array(memory.buffer, at, n)
  const placeOf = (fd, at, n) => path.resolve(opened(fd).path, new TextDecoder().decode(bytes(at, n).slice()))

  function opened (fd) {
    if (files.has(fd)) return files.get(fd)
    throw Object.assign(new Error(`no file ${fd}`), { code: 'EBADF' })
  }

  const typeOf = (entry) => entry.isDirectory() ? 3 : entry.isFile() ? 4 : entry.isSymbolicLink() ? 7 : entry.isCharacterDevice() ? 2 : 0

  function writeStatus (stats, at) {
    bytes(at, 64).fill(0)
    const out = view()
    out.setBigUint64(at, stats.dev, true)
    out.setBigUint64(at + 8, stats.ino, true)
    out.setUint8(at + 16, typeOf(stats))
    out.setBigUint64(at + 24, stats.nlink, true)
    const words = [stats.size, stats.atimeNs, stats.mtimeNs, stats.ctimeNs]
    words.forEach((word, i) => out.setBigUint64(at + 32 + 8 * i, word, true))
  }

  /** Reads or writes the parts of an I/O vector in order, until one is transferred only in part. */
  function transfer (move, fd, vectors, n, position, out) {
    const file = opened(fd)
    let total = 0
    for (let i = 0; i < n; i++) {
      const [at, length] = [0, 4].map((offset) => view().getUint32(vectors + 8 * i + offset, true))
      const done = move(file.fd, bytes(at, length), 0, Math.min(length, MOST), position === null ? file.at : position + total)
      total += done
      if (position === null) file.at += done
      if (done < length) break
    }
    view().setUint32(out, total, true)
  }

  const functions = {
    fd_prestat_get (fd, at) {
      if (fd !== ROOT) throw Object.assign(new Error('no more roots'), { code: 'EBADF' })
      view().setUint32(at, 0, true)
      view().setUint32(at + 4, 1, true) // the length of "/"
    },
    fd_prestat_dir_name: (_, at) => { bytes(at, 1)[0] = '/'.charCodeAt(0) },
    path_open (folder, lookup, at, n, how, rights, _, flags, out) {
      const place = placeOf(folder, at, n)
      const access = (rights & WRITE) === 0n ? O_RDONLY : (rights & READ) === 0n ? O_WRONLY : O_RDWR
      const bits = [O_CREAT, O_DIRECTORY, O_EXCL, O_TRUNC].reduce((all, bit, i) => how & (1 << i) ? all | bit : all, access)
      const fd = fs.openSync(place, flags & 1 ? bits | O_APPEND : bits, 0o666)
      files.set(fd + ROOT + 1, { fd, path: place, at: 0 }) // shifted: Node's file descriptors may be any numbers, also up to ROOT
      view().setUint32(out, fd + ROOT + 1, true)
    },
    fd_close (fd) {
      fs.closeSync(opened(fd).fd)
      files.delete(fd)
    },
    fd_read: (fd, vectors, n, out) => transfer(fs.readSync, fd, vectors, n, null, out),
    fd_pread: (fd, vectors, n, position, out) => transfer(fs.readSync, fd, vectors, n, Number(position), out),
    fd_write: (fd, vectors, n, out) => transfer(fs.writeSync, fd, vectors, n, null, out),
    fd_pwrite: (fd, vectors, n, position, out) => transfer(fs.writeSync, fd, vectors, n, Number(position), out),
    fd_sync: (fd) => fs.fsyncSync(opened(fd).fd),
    fd_filestat_set_size: (fd, size) => fs.ftruncateSync(opened(fd).fd, Number(size)),
    fd_seek (fd, offset, whence, out) {
      const file = opened(fd)
      const from = [0, file.at, whence === 2 ? fs.fstatSync(file.fd).size : 0][whence]
      file.at = from + Number(offset)
      view().setBigUint64(out, BigInt(file.at), true)
    },
    fd_fdstat_get (fd, at) {
      const type = fd < ROOT ? 2 : fd === ROOT ? 3 : typeOf(fs.fstatSync(opened(fd).fd))
      bytes(at, 24).fill(0)
      view().setUint8(at, type)
      view().setBigUint64(at + 8, ~0n, true)
      view().setBigUint64(at + 16, ~0n, true)
    },
    fd_fdstat_set_flags: () => {},
    fd_filestat_get: (fd, at) => writeStatus(fs.fstatSync(opened(fd).fd, { bigint: true }), at),
    path_filestat_get (folder, lookup, from, n, at) {
      const status = lookup & FOLLOW ? fs.statSync : fs.lstatSync
      writeStatus(status(placeOf(folder, from, n), { bigint: true }), at)
    },
    fd_readdir (fd, at, room, cookie, out) {
      const folder = opened(fd)
      if (cookie === 0n) folder.entries = fs.readdirSync(folder.path, { withFileTypes: true })
      let used = 0
      for (let i = Number(cookie); i < folder.entries.length && used < room; i++) {
        const name = new TextEncoder().encode(folder.entries[i].name)
        const entry = new Uint8Array(DIRECTORY_ENTRY + name.length)
        const fields = new DataView(entry.buffer)
        fields.setBigUint64(0, BigInt(i + 1), true)
        fields.setUint32(16, name.length, true)
        fields.setUint8(20, typeOf(folder.entries[i]))
        entry.set(name, DIRECTORY_ENTRY)
        const part = entry.subarray(0, room - used)
        bytes(at + used, part.length).set(part)
        used += part.length
      }
      view().setUint32(out, used, true)
    },
    path_create_directory: (folder, at, n) => fs.mkdirSync(placeOf(folder, at, n)),
    path_remove_directory: (folder, at, n) => fs.rmdirSync(placeOf(folder, at, n)),
    path_unlink_file: (folder, at, n) => fs.unlinkSync(placeOf(folder, at, n)),
    path_rename: (from, at, n, to, newAt, newN) => fs.renameSync(placeOf(from, at, n), placeOf(to, newAt, newN)),
    path_readlink (folder, at, n, to, room, out) {
      const text = new TextEncoder().encode(fs.readlinkSync(placeOf(folder, at, n))).subarray(0, room)
      bytes(to, text.length).set(text)
      view().setUint32(out, text.length, true)
    }
  }
  // Errors that Node throws are returned as WASI error numbers.
  return Object.fromEntries(Object.entries(functions).map(([name, call]) => [name, (...args) => {
    try {
      call(...args)
      return 0
    } catch (error) {
      if (error.code === undefined) throw error
      return ERRORS[error.code] ?? ERRORS.EIO
    }
  }]))
}

module.exports = { fileImports }
