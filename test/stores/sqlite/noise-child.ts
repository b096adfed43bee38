/**
 * Noise: a process that takes the write lock of a file again and again, holds it for a while, and commits a write that
 * changes nothing. It is told which file (null: none), and tells how often it has written to the last one.
 */
import { DatabaseSync } from 'node:sqlite'

let db: DatabaseSync | null = null
let writes = 0
let timer: NodeJS.Timeout | undefined

function write(): void {
  if (db === null) return
  try {
    db.exec('BEGIN IMMEDIATE; UPDATE queues SET paused = paused')
    // Another process that wants to write now is turned away.
    const end = performance.now() + 1
    while (performance.now() < end);
    db.exec('COMMIT')
    writes++
  } catch {
    // It is this process's turn to be turned away.
    if (db.isTransaction) db.exec('ROLLBACK')
  }
  timer = setTimeout(write, 2)
}

process.on('message', ({ path }: { readonly path: string | null }) => {
  clearTimeout(timer)
  db?.close()
  const written = writes
  db = path === null ? null : new DatabaseSync(path)
  writes = 0
  // The first write is done before the answer, so that no case is too short for one.
  write()
  process.send?.(written)
})
