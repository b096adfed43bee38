/** Puts package.json back, which `pack.mjs` has changed for the tarball. */
import { renameSync } from 'node:fs'

renameSync(new URL('package.json', import.meta.url), new URL('../package.json', import.meta.url))
