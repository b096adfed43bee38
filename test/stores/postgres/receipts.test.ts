import { expect, test } from 'vitest'
import { receiptOf } from '../../../src/stores/postgres/transactions/index.ts'

test.for([
  ['7 7', '7', 'the transaction itself'],
  ['7 9', '9', 'a subtransaction'],
  ['4294967295 3', '4294967299', 'a subtransaction behind the end of the 32 bits'],
  ['12884901890 5', '12884901893', 'a transaction of a later epoch'],
] as const)('%s is a receipt of %s: %s', ([answer, receipt]) => {
  expect(receiptOf(answer)).toBe(receipt)
})
