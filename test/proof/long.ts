/** Imported before everything that asks for the form: a proof is long, and so are the processes that it starts. */
process.env['LONG'] = '1'
