import { createClient, type Client } from 'jobchart'
import { order, store } from './order.ts'

/** Every route is a bundle of its own, and is loaded again when it changes: the client is one for the process. */
const kept = globalThis as { jobs?: Client }

export const client = (kept.jobs ??= createClient({ jobs: [order], store }))
