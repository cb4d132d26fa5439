# Asciidoctor runs verbosely, since only then it reports references that lead nowhere.
# The highlighter is loaded beforehand, without reports about its own source code.
verbose, $VERBOSE = $VERBOSE, nil
require 'rouge'
$VERBOSE = verbose
