import { defineJob } from 'jobchart'
import { orderMachine } from './order.machine.ts'

export const order = defineJob({ type: 'order', machine: orderMachine, retry: { maxAttempts: 5 } })

/** Every definition that a process may run. */
export const jobs = [order]
