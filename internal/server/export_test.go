package server

// AnswerTo gives the status and the text of the answer to an error.
var AnswerTo = answerTo
