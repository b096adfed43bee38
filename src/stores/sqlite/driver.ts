/**
 * The driver. It is not imported: before any module runs, an import fails in a Node.js that lacks it, and nothing can
 * say what is needed.
 */
import type * as sqlite from 'node:sqlite'

export const { DatabaseSync } = process.getBuiltinModule('node:sqlite')
export type DatabaseSync = sqlite.DatabaseSync
