#!/usr/bin/env node
/** The executable `jobchart`. */
import '../core/node-version.ts'

// Later: a static import of what an older Node.js lacks fails before the version is checked.
await import('./command-line.ts')
