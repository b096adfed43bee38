/**
 * The entry `jobchart/store`: the contract of a store, and what a store of one's own is made of. `remoteStore` makes a
 * whole store of a port: loading and committing documents, searches, figures, the log.
 */
export * from '../../store.ts'
export { comparePositions, type Position } from '../../core/cursor.ts'
export { isEnded, isLeased } from '../../core/lifecycle.ts'
export type { CellKind } from './cells.ts'
export { staleOf, type CellValue, type Commit, type Current, type Writes } from './commit.ts'
export { documentMatches, revisionOf, timerOf, type JobDocument, type MachineDocument } from './document.ts'
export type { EndedFacts, EndedQuery } from './ended.ts'
export { foldFigures, typesOf, type TypeFigures } from './figures.ts'
export type { PlainClaim, PlainWrite, PlainWrites } from './plain.ts'
export type { FindQuery, Found, FoundIds, Loaded, LogPage, StorePort, Wanted } from './port.ts'
export { positionIn, remoteStore } from './store.ts'
export type { HeadsNeed, HeadsTold } from './needs.ts'
export type { QueuedJob, QueueGroup, QueueHeads, Timed } from './working-set.ts'
