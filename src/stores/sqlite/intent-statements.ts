/** The statements of calls in transactions of the user: see `user-database.ts` for their tables. */
export const intentTexts = {
  addIntents: `INSERT INTO intents (number, receipt, intents)
    SELECT coalesce(max(number), 0) + 1, ?, ? FROM intents`,
  countIntents: 'SELECT count(*) FROM (SELECT 1 FROM intents LIMIT +?)',
  intents: 'SELECT number, receipt, intents FROM intents ORDER BY number LIMIT +?',
  receipts: 'SELECT receipt FROM intents',
  otherEnds: `SELECT count(*) FROM intents WHERE receipt <> ? AND CASE WHEN json_valid(intents) THEN
    intents ->> '$[0].kind' = 'settle' AND intents ->> '$[0].request.token' = ? AND intents -> '$[0].request.id' = ? END`,
  removeIntents: 'DELETE FROM intents WHERE number = ?',
  addCarriedOut: 'INSERT OR REPLACE INTO carried_out (receipt, at, refused) VALUES (?, ?, ?)',
  carriedOut: 'SELECT receipt FROM carried_out WHERE receipt IN (SELECT value FROM json_each(?))',
  refusals: 'SELECT refused FROM carried_out WHERE refused IS NOT NULL LIMIT +?',
  forgetRefusals: `UPDATE carried_out SET refused = NULL
    WHERE receipt IN (SELECT receipt FROM carried_out WHERE refused IS NOT NULL LIMIT +?)`,
  forgetCarriedOut: 'DELETE FROM carried_out WHERE at < ? AND refused IS NULL',
  countsOfQueues: 'SELECT type, counts FROM queues',
} as const

export interface IntentRowOf {
  countIntents: [count: number]
  intents: [number: number, receipt: string, intents: string]
  receipts: [receipt: string]
  otherEnds: [count: number]
  carriedOut: [receipt: string]
  refusals: [refused: string]
  countsOfQueues: [type: string, counts: string]
}
