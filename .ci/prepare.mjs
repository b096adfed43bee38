/** Builds the package after `npm ci`, and where it is installed from git. */
import { execSync } from 'node:child_process'
import { existsSync } from 'node:fs'

if (existsSync('node_modules/typescript/bin/tsc')) execSync('node .ci/build.mjs --noCheck', { stdio: 'inherit' })
