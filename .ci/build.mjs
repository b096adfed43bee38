/**
 * Compiles the package into `dist`, with the compiler's options that follow. Only what differs is written, each file at once: a process
 * that loads modules from there at the same time finds all of them. The compiler itself empties a file before it writes it, and an
 * empty module loads, and does nothing.
 */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const dist = join(root, 'dist')

const filesIn = (folder) =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1))

const isSame = (file, other) => {
  try {
    return readFileSync(file).equals(readFileSync(other))
  } catch {
    return false
  }
}

const compiled = mkdtempSync(join(tmpdir(), 'jobchart-build-'))
try {
  const options = ['--project', 'src/tsconfig.json', '--outDir', compiled, ...process.argv.slice(2)]
  const { status } = spawnSync(process.execPath, ['node_modules/typescript/bin/tsc', ...options], { cwd: root, stdio: 'inherit' })
  process.exitCode = status ?? 1
  if (status === 0) {
    const files = new Set(filesIn(compiled))
    for (const file of files) {
      const [from, to] = [join(compiled, file), join(dist, file)]
      if (isSame(from, to)) continue
      mkdirSync(dirname(to), { recursive: true })
      // Beside its place, so that it can be renamed: the folder of temporary files may be on another disk.
      const whole = `${to}.${process.pid}`
      cpSync(from, whole)
      renameSync(whole, to)
    }
    // Other names are those that another build renames now.
    const old = filesIn(dist).filter((file) => /\.(js|d\.ts)$/.test(file) && !files.has(file))
    for (const file of old) rmSync(join(dist, file), { force: true })
  }
} finally {
  rmSync(compiled, { recursive: true })
}
